"""The histogram of durations: buckets, quantiles and its stored form."""

from __future__ import annotations

import pytest

from hotloop import histogram


@pytest.mark.parametrize("ns", [0, 1, 31, 32, 33, 1_000, 123_456, 10**9, 2**62])
def test_the_middle_of_a_bucket_is_close_to_what_fell_into_it(ns: int) -> None:
    middle = histogram.middle_of(histogram.bucket_of(ns))
    assert middle == pytest.approx(ns, rel=0.016, abs=0.5)


def test_buckets_are_in_the_order_of_durations() -> None:
    buckets = [histogram.bucket_of(ns) for ns in range(5_000)]
    assert buckets == sorted(buckets)


def test_quantiles_are_durations_of_calls() -> None:
    durations = [100] * 90 + [10_000] * 10
    counts: histogram.Histogram = {}
    for ns in durations:
        histogram.add_into(counts, {histogram.bucket_of(ns): 1})
    assert histogram.quantile(counts, 0.5) == pytest.approx(100, rel=0.016)
    assert histogram.quantile(counts, 0.99) == pytest.approx(10_000, rel=0.016)
    assert histogram.quantile({}, 0.5) is None


@pytest.mark.parametrize("counts", [{}, {0: 1}, {5: 2, 6: 3, 9: 1}, {histogram.BUCKETS - 1: 7}])
def test_decoding_gives_what_was_encoded(counts: histogram.Histogram) -> None:
    assert histogram.decode(histogram.encode(counts)) == counts


@pytest.mark.parametrize("text", ["5", "5:", ":1", "5:-1", "-1:1", f"{histogram.BUCKETS}:1", "a:b"])
def test_damaged_text_is_an_error_and_counts_for_nothing_when_stored(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|no such bucket"):
        histogram.decode(text)
    assert dict(histogram.Stored("3:4", text)) == {3: 4}


def test_stored_histograms_add_up_with_each_other_and_with_plain_ones() -> None:
    stored = histogram.added({}, histogram.Stored("3:1,1"))
    stored = histogram.added(stored, histogram.Stored("4:2"))
    assert dict(histogram.added(stored, {9: 5})) == {3: 1, 4: 3, 9: 5}
    assert dict(stored) == {3: 1, 4: 3}
