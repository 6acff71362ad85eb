"""PyTorch's ways to do the work."""

from typing import Any

import numpy as np

from tests.performance.inputs import (
    CHARACTERS,
    CLASSES,
    EMBEDDING,
    LEARNING_RATE,
    MOMENTUM,
    UNITS,
    batch,
    window,
)
from tests.performance.interleaved import Work


def lenet(size: int, channels_last: bool = False, device: str = "cpu") -> Work:
    import torch
    from torch import nn

    model = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 512),
        nn.ReLU(),
        nn.Linear(512, CLASSES),
    ).to(device)
    images, labels = batch(size)
    fed = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        fed = fed.to(memory_format=torch.channels_last)
    return _training_step(model, fed, labels, device)


def mlp(size: int) -> Work:
    import torch
    from torch import nn

    model = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, CLASSES)
    )
    images, labels = batch(size)
    return _training_step(model, torch.from_numpy(images.reshape(size, 784)), labels)


def char_lm(rows: int) -> Work:
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(CHARACTERS, EMBEDDING)
            self.lstm = nn.LSTM(EMBEDDING, UNITS)
            self.dense = nn.Linear(UNITS, CHARACTERS)

        def forward(self, characters: Any) -> Any:
            outputs, _ = self.lstm(self.table(characters))
            return self.dense(outputs).flatten(0, 1)

    inputs, targets = window(rows)
    return _training_step(Network(), torch.from_numpy(inputs), targets.reshape(-1))


def _training_step(model: Any, images: Any, labels: Any, device: str = "cpu") -> Work:
    import os

    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    targets = torch.from_numpy(labels.astype(np.int64))
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM, fused=True)

    def step() -> Any:
        optimizer.zero_grad()
        output = model(images.to(device))
        loss = torch.nn.functional.cross_entropy(output, targets.to(device))
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def tiny() -> Work:
    import torch

    return lambda: (torch.tensor(1.0) + 1.0).item()


def add_chain(length: int, device: str = "cpu") -> Work:
    import torch

    fed = torch.tensor(1.0, device=device)

    def chain() -> Any:
        x = fed
        for _ in range(length):
            x = x + fed
        return x.item()

    return chain
