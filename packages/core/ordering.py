"""Orders in which everything stands after what it needs."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def postorder(roots: Iterable[Item], needs: Callable[[Item], Iterable[Item]]) -> list[Item]:
    """All that the roots need, and the roots, each once and after what it needs.

    The order depends on that of `roots` and of what `needs` gives alone; `needs` may append to a
    list of roots. Where things need each other in a circle, one of them stands too early.
    """
    order: list[Item] = []
    seen: set[Item] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(needs(root)))]
        while stack:
            item, rest = stack[-1]
            for other in rest:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(needs(other))))
                    break
            else:
                order.append(item)
                stack.pop()
    return order
