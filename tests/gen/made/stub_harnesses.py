"""Stubs for the parts of LightEval and OpenCompass that exported tasks use, so that these run without either."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class Record(SimpleNamespace):
    """Keeps its arguments as attributes."""


class _Dataset(list[Any]):
    @staticmethod
    def from_list(rows: list[Any]) -> _Dataset:
        return _Dataset(rows)


class _Base:
    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes whatever the harness passes."""


_LIGHTEVAL: dict[str, dict[str, Any]] = {
    "lighteval.metrics.metrics_sample": {"SampleLevelComputation": _Base},
    "lighteval.metrics.utils.metric_utils": {"SampleLevelMetric": Record},
    "lighteval.tasks.lighteval_task": {"LightevalTaskConfig": Record},
    "lighteval.tasks.requests": {"Doc": Record, "SamplingMethod": SimpleNamespace(GENERATIVE="GENERATIVE")},
}
_OPENCOMPASS: dict[str, dict[str, Any]] = {
    "datasets": {"Dataset": _Dataset},
    "opencompass.datasets.base": {"BaseDataset": _Base},
    "opencompass.openicl.icl_evaluator": {"BaseEvaluator": _Base},
    "opencompass.openicl.icl_prompt_template": {"PromptTemplate": _Base},
    "opencompass.summarizers": {"DefaultSummarizer": _Base},
    "opencompass.utils.prompt": {"PromptList": list},
}


@contextmanager
def _modules(stubs: dict[str, dict[str, Any]]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, members in stubs.items():
            module = ModuleType(name)
            vars(module).update(members)
            for part in range(1, name.count(".") + 1):
                parent = ".".join(name.split(".")[:part])
                patch.setitem(sys.modules, parent, sys.modules.get(parent) or ModuleType(parent))
            patch.setitem(sys.modules, name, module)
        yield


def _loaded(path: Path, stubs: dict[str, dict[str, Any]]) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _modules(stubs):
        spec.loader.exec_module(module)
    return module


def lighteval_tasks(folder: Path) -> Any:
    """The module of exported LightEval tasks."""
    return _loaded(folder / "niah_lighteval.py", _LIGHTEVAL)


def variables(path: Path) -> dict[str, Any]:
    """The variables of a config file."""
    values: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), values)
    return values
