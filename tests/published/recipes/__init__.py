"""Recipes, each of one kind of source: a module's RECIPES are its list. That of the absent ones comes last."""
import importlib
import pkgutil


def all_recipes() -> list:
    modules = sorted((module.name for module in pkgutil.iter_modules(__path__)), key=lambda name: (name == "absent", name))
    return [recipe for name in modules for recipe in importlib.import_module(f"recipes.{name}").RECIPES]
