"""The ConvLSTM encoder: from sequences of pictures to sequences of feature vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hotloop import profile, profile_function

State = tuple[Tensor, Tensor]
"""The hidden and the cell state of one ConvLSTM layer, each (batch, channels, height, width)."""


class ConvLSTMCell(nn.Module):
    """An LSTM whose gates are convolutions, so that its memory keeps the shape of the board."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self._gates = nn.Conv2d(2 * channels, 4 * channels, kernel_size=3, padding=1)

    def forward(self, inputs: Tensor, state: State) -> State:
        """One step in time."""
        hidden, cell = state
        gates = self._gates(torch.cat([inputs, hidden], dim=1))
        input_gate, forget_gate, output_gate, candidate = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget_gate + 1.0) * cell
        cell = cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
        return torch.sigmoid(output_gate) * torch.tanh(cell), cell


class ConvLSTMEncoder(nn.Module):
    """Convolutions look at each picture, ConvLSTM layers remember, a projection sums up."""

    def __init__(self, pixels: int, channels: int, layers: int, features: int) -> None:
        super().__init__()
        self.channels = channels
        self.grid = (pixels + 2) // 2 // 2
        self._convolutions = nn.Sequential(
            nn.Conv2d(4, channels, kernel_size=4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, kernel_size=4, stride=2, padding=1),
            nn.ReLU(),
        )
        self._cells = nn.ModuleList(ConvLSTMCell(channels) for _ in range(layers))
        self._skip = nn.Conv2d(2 * channels, features, kernel_size=3, padding=1)
        self._projection = nn.Sequential(nn.Linear(2 * features, features), nn.ReLU())

    def initial_state(self, batch: int) -> list[State]:
        """What each layer remembers before it has seen anything: nothing."""
        device = next(self.parameters()).device
        shape = (batch, self.channels, self.grid, self.grid)
        return [
            (torch.zeros(shape, device=device), torch.zeros(shape, device=device))
            for _ in self._cells
        ]

    @profile_function("convlstm_forward_pass", category="Model", track_memory=True)
    def forward(
        self, pictures: Tensor, states: list[State], keep: Tensor
    ) -> tuple[Tensor, list[State]]:
        """Encode pictures (time, batch, height, width, 3); `keep` is 0 where an episode begins."""
        time, batch = pictures.shape[:2]
        framed = self._add_boundary(pictures.flatten(0, 1))
        with profile("convlstm_conv_encoder", category="Model"):
            seen = self._convolutions(framed)
        with profile("convlstm_layers", category="Model"):
            remembered, states = self._remember(seen.unflatten(0, (time, batch)), states, keep)
        with profile("convlstm_skip_connection", category="Model"):
            joined = functional.relu(self._skip(torch.cat([seen, remembered.flatten(0, 1)], dim=1)))
        with profile("convlstm_global_pooling", category="Model"):
            pooled = torch.cat([joined.mean(dim=(2, 3)), joined.amax(dim=(2, 3))], dim=1)
        with profile("convlstm_projection", category="Model"):
            features = self._projection(pooled)
        return features.unflatten(0, (time, batch)), states

    @profile_function("convlstm_boundary_padding", category="Model")
    def _add_boundary(self, pictures: Tensor) -> Tensor:
        """Pad by one pixel, and mark the padding in a channel of its own.

        Pooling forgets where things are; the marked edge lets the convolutions tell.
        """
        colours = pictures.permute(0, 3, 1, 2).float() / 255.0
        inside = torch.zeros_like(colours[:, :1])
        return torch.cat(
            [
                functional.pad(colours, (1, 1, 1, 1)),
                functional.pad(inside, (1, 1, 1, 1), value=1.0),
            ],
            dim=1,
        )

    def _remember(
        self, seen: Tensor, states: list[State], keep: Tensor
    ) -> tuple[Tensor, list[State]]:
        outputs = []
        for inputs, kept in zip(seen, keep[..., None, None, None], strict=True):
            following = []
            for layer, (hidden, cell) in zip(self._cells, states, strict=True):
                hidden, cell = layer(inputs, (hidden * kept, cell * kept))
                following.append((hidden, cell))
                inputs = hidden
            states = following
            outputs.append(inputs)
        return torch.stack(outputs), states
