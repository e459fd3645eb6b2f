"""The figures of a run in one line, for every renderer: how long, how many, how fast."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.kind import (
    has_training_loop,
    learns_from_data,
    steps_per_s_after_warm_up,
)
from hotloop.analyze.language_models import tokens
from hotloop.analyze.model import Analysis
from hotloop.analyze.optimizers import optimizers
from hotloop.analyze.run import Run
from hotloop.report.words.returns import headline_part


def headline_parts(analysis: Analysis) -> list[str]:
    """Each figure with its unit, most important first; figures not counted are left out."""
    run = analysis.run
    parts = [f"{units.seconds(run.wall_s)} total"]
    if has_training_loop(analysis):
        parts[0] += f", training loop {units.seconds(run.loop_s)}"
    offline = learns_from_data(analysis)
    if run.env_steps and not offline:
        steps = units.plural(run.env_steps, "step")
        parts.append(f"{steps}, {units.rate(run.steps_per_s)} steps/s")
        if learning := steps_per_s_after_warm_up(analysis):
            parts[-1] += f" ({units.rate(learning)} after learning began)"
    if run.agent_steps:
        agents = units.plural(run.agent_steps, "agent step")
        parts.append(f"{agents}, {units.rate(run.agent_steps_per_s)} agent steps/s")
    if returned := headline_part(analysis):
        parts.append(returned)
    if run.episodes:
        episodes = units.plural(run.episodes, "episode")
        length = analysis.returns.training.mean_length or run.steps_per_episode or 0
        parts.append(f"{episodes} of {_steps(units.rate(length))}")
    if run.gradient_steps:
        updates = units.plural(run.gradient_steps, "gradient step")
        if run.batch_size:
            updates += f" (batch size {batch_size(run)})"
        if not run.env_steps or offline:
            updates += f", {units.rate(run.gradient_steps_per_s)} gradient steps/s"
            if run.samples_per_s:
                updates += f", {units.rate(run.samples_per_s)} training examples/s"
        parts.append(updates)
    if offline:
        parts.append(f"{units.plural(run.env_steps, 'step')} outside of training")
    parts += [*_token_parts(analysis), *_search_parts(run), run.device]
    if run.processes > 1:
        parts.append(f"{run.processes} processes")
    if run.memory_peak_mb:
        parts.append(f"peak memory {units.megabytes(run.memory_peak_mb)}")
    return parts


def batch_size(run: Run) -> str:
    """Rows of a batch; of a batch of sequences, their number and length."""
    sequences, length = run.sequences_per_batch, run.sequence_length
    if sequences and length:
        return f"{units.count(sequences)} x {units.count(length)}"
    return units.count(run.batch_size or 0)


def _steps(number: str) -> str:
    return f"{number} step" if number == "1" else f"{number} steps"


def optimizer_line(analysis: Analysis) -> str:
    """Learning by optimizer, as a sentence; empty for a program with one."""
    parts = [
        f"`{each.name}` {units.percent(each.share)} "
        f"({units.plural(each.steps, 'step')} of {units.seconds(each.seconds / each.steps)})"
        for each in optimizers(analysis)
        if each.steps
    ]
    return f"Learning by optimizer, of the loop: {', '.join(parts)}." if parts else ""


def _search_parts(run: Run) -> list[str]:
    """Generations, games and searches, if a run has any."""
    parts = []
    if run.generations:
        generations = units.plural(run.generations, "generation")
        parts.append(f"{generations}, {units.rate(run.generations_per_s)}/s")
    if run.games:
        parts.append(f"{units.plural(run.games, 'game')}, {units.rate(run.games_per_s)}/s")
    if run.searches:
        searches = units.plural(run.searches, "search", "es")
        parts.append(f"{searches}, {units.rate(run.searches_per_s)}/s")
        if run.simulations:
            simulations = units.plural(run.simulations, "simulation")
            parts.append(f"{simulations}, {units.rate(run.simulations_per_s)}/s")
        parts.append(f"{units.rate(run.leaves_per_s)} positions/s evaluated in them")
    return parts


def _token_parts(analysis: Analysis) -> list[str]:
    """Tokens generated and learned, if a run trains a language model."""
    made = tokens(analysis)
    if made is None:
        return []
    completions = units.plural(made.completions, "completion")
    parts = [
        f"{completions}, {units.rate(made.completions_per_s)}/s",
        f"{units.rate(made.generated_per_s)} tokens/s generated",
        f"prompts of {units.rate(made.prompt_length)} and completions of "
        f"{units.rate(made.completion_length)} tokens",
    ]
    if made.learned:
        parts.append(f"{units.rate(made.learned_per_s)} tokens/s learned")
    if made.padding_share:  # unknown if masks are on a device
        parts.append(f"{units.percent(made.padding_share)} padding")
    return parts
