"""§3.1: a stack of N identical layers."""

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)


class LayerStack(nn.ModuleList, Generic[Layer]):
    """An `nn.ModuleList` with a static item type; torch's own yields `Module`."""

    def __iter__(self) -> Iterator[Layer]:
        return cast("Iterator[Layer]", super().__iter__())
