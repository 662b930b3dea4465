from torch import nn

from model.transformer.layer_stack import LayerStack


def test_layers_are_registered_and_iterated_in_order() -> None:
    layers = [nn.Linear(1, size) for size in (1, 2, 3)]
    stack: LayerStack[nn.Linear] = LayerStack(layers)
    assert [layer.out_features for layer in stack] == [1, 2, 3]
    assert [name for name, _ in stack.named_parameters()][::2] == [
        "0.weight",
        "1.weight",
        "2.weight",
    ]
