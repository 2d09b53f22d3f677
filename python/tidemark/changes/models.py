"""The modules that an optimizer trains, and the classes that repeat in them."""

_LISTS = ("Sequential", "ModuleList", "ModuleDict")


def roots_of(seen, parameters):
    """The outermost modules that own some of the parameters."""
    wanted = {id(parameter) for parameter in parameters}
    alive = [module for module in (row[0]() for row in list(seen.modules.values())) if module is not None]
    owners = [m for m in alive if any(id(p) in wanted for p in m._parameters.values() if p is not None)]
    parents = {}
    for module in alive:
        for child in module._modules.values():
            if child is not None:
                parents.setdefault(id(child), []).append(module)
    found, passed = {}, set()
    todo = list(owners)
    while todo:
        module = todo.pop()
        if id(module) in passed:
            continue
        passed.add(id(module))
        above = parents.get(id(module), [])
        if above:
            todo += above
        else:
            found[id(module)] = module
    return list(found.values())


def place_of(seen, module):
    """Where the program makes a module; None if it is unknown."""
    reference, place = seen.modules.get(id(module), (None, None))
    return place if reference is not None and reference() is module else None


def instances(root, kind):
    """The outermost instances of a class in a module, by name of the class."""
    found, inside = [], set()
    for module in root.modules():
        if type(module).__name__ == kind and id(module) not in inside:
            found.append(module)
            inside.update(id(inner) for inner in module.modules())
    return found


def is_nested(root, kind):
    """Whether instances of the class are within others."""
    return len(instances(root, kind)) != sum(type(m).__name__ == kind for m in root.modules())


def repeated(root):
    """The classes of which a module has two instances or more, and that are more than one operation: they
    have modules in them, or parameters and no class of torch.nn."""
    counts = {}
    for module in root.modules():
        kind = type(module)
        is_plain = kind.__module__.startswith("torch.nn.") or not module._parameters
        is_block = any(True for _ in module.children()) or not is_plain
        if module is not root and is_block and kind.__name__ not in _LISTS:
            counts.setdefault(kind.__name__, 0)
    return [kind for kind in counts if len(instances(root, kind)) > 1]


def kinds(root):
    return {type(module).__name__ for module in root.modules()}


def has_batch_norm(torch, module):
    return any(isinstance(inner, torch.nn.modules.batchnorm._NormBase)
               and not isinstance(inner, torch.nn.modules.instancenorm._InstanceNorm) for inner in module.modules())


def shared_parameters(blocks):
    """Whether a parameter belongs to two of the modules."""
    seen = set()
    for block in blocks:
        own = {id(parameter) for parameter in block.parameters()}
        if own & seen:
            return True
        seen |= own
    return False


def module_path(root, module):
    """The path of a module in its root; "" is the root."""
    return next((path for path, inner in root.named_modules() if inner is module), "")
