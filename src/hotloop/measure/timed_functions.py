"""Wraps functions of any kind so that every call is inside a region."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

Function: TypeAlias = Callable[..., Any]
#: Makes the region of one call.
MakeRegion: TypeAlias = Callable[[], AbstractContextManager[Any]]


def timed(function: Function, region: MakeRegion) -> Function:
    """`function` with every call inside a region."""
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, region)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, region)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, region)
    else:
        wrapper = _plain(function, region)
    return functools.wraps(function)(wrapper)


def _plain(function: Function, region: MakeRegion) -> Function:
    def plain(*args: Any, **kwargs: Any) -> Any:
        with region():
            return function(*args, **kwargs)

    return plain


def _coroutine(function: Function, region: MakeRegion) -> Function:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        with region():
            return await function(*args, **kwargs)

    return coroutine


def _generator(function: Function, region: MakeRegion) -> Function:
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner = function(*args, **kwargs)
        resume, value = inner.send, None
        while True:
            try:
                with region():
                    item = resume(value)
            except StopIteration as stop:
                return stop.value
            try:
                resume, value = inner.send, (yield item)
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                resume, value = inner.throw, error

    return generator


def _async_generator(function: Function, region: MakeRegion) -> Function:
    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        resume, value = inner.asend, None
        while True:
            try:
                with region():
                    item = await resume(value)
            except StopAsyncIteration:
                return
            try:
                resume, value = inner.asend, (yield item)
            except GeneratorExit:
                await inner.aclose()
                raise
            except BaseException as error:
                resume, value = inner.athrow, error

    return async_generator
