"""Every rule and every check in one place, in the order and with the interplay that rustc has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ferrodiff.analysis.diagnostics import (
    active_batch,
    active_only_input,
    active_reference,
    activity_count,
    all_const,
    bad_name,
    const_return_forward,
    const_return_reverse,
    decorated,
    dualv_only,
    dualv_return,
    dualv_type,
    duplicate_name,
    inline_conflict,
    large_width,
    list_syntax,
    lost_lifetime,
    misplaced,
    missing_feature,
    missing_import,
    name_is_parameter,
    no_floats,
    no_name,
    not_in_trait,
    not_instantiated,
    old_form,
    pattern_parameter,
    return_activity,
    shadow_clash,
    stray_literal,
    suffixed_width,
    unclosed,
    unknown_activity,
    unknown_callee,
    unknown_code,
    unknown_mode,
    unsupported_function,
    width_range,
    wrong_mode,
    wrong_type,
    zero_width,
)
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import Function

Check = Callable[[Subject], Iterable[Diagnostic]]
FileCheck = Callable[[File], Iterable[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Stage:
    """Checks of one annotation; nothing follows on a stage that `ends` and has found an error."""

    checks: tuple[Check, ...]
    ends: bool = False


STAGES = (
    Stage(
        (
            inline_conflict.check,
            unsupported_function.check,
            pattern_parameter.check,
            bad_name.check,
            decorated.check,
            name_is_parameter.check,
        )
    ),
    Stage((no_name.check,), ends=True),
    Stage((list_syntax.check, suffixed_width.check, unknown_mode.check), ends=True),
    Stage((width_range.check,), ends=True),
    Stage((unknown_activity.check, stray_literal.check), ends=True),
    Stage((zero_width.check, large_width.check)),
    Stage((activity_count.check,), ends=True),
    Stage(
        (
            wrong_mode.check,
            wrong_type.check,
            return_activity.check,
            active_reference.check,
            dualv_type.check,
            dualv_return.check,
            dualv_only.check,
            no_floats.check,
            unknown_callee.check,
            active_batch.check,
            active_only_input.check,
            const_return_forward.check,
            const_return_reverse.check,
            shadow_clash.check,
            lost_lifetime.check,
        ),
        ends=True,
    ),
    Stage((all_const.check,)),
)
FILE_CHECKS: tuple[FileCheck, ...] = (
    misplaced.check,
    old_form.check,
    unclosed.check,
    missing_import.check,
    missing_feature.check,
    duplicate_name.check,
    not_in_trait.check,
    not_instantiated.check,
    no_floats.check_file,
)
RULES: tuple[Rule, ...] = (
    misplaced.RULE,
    no_name.RULE,
    width_range.RULE,
    unknown_activity.RULE,
    activity_count.RULE,
    wrong_mode.RULE,
    wrong_type.RULE,
    return_activity.RULE,
    missing_import.RULE,
    missing_feature.RULE,
    duplicate_name.RULE,
    bad_name.RULE,
    pattern_parameter.RULE,
    stray_literal.RULE,
    suffixed_width.RULE,
    list_syntax.RULE,
    unknown_mode.RULE,
    name_is_parameter.RULE,
    shadow_clash.RULE,
    zero_width.RULE,
    no_floats.RULE,
    active_reference.RULE,
    dualv_type.RULE,
    dualv_return.RULE,
    dualv_only.RULE,
    active_batch.RULE,
    active_only_input.RULE,
    const_return_forward.RULE,
    const_return_reverse.RULE,
    all_const.RULE,
    large_width.RULE,
    decorated.RULE,
    old_form.RULE,
    unsupported_function.RULE,
    inline_conflict.RULE,
    not_instantiated.RULE,
    not_in_trait.RULE,
    unknown_callee.RULE,
    lost_lifetime.RULE,
    unknown_code.RULE,
)
BY_CODE = {rule.code: rule for rule in RULES}


def check_annotations(function: Function, text: bytes) -> Iterator[Diagnostic]:
    """What there is to say about a function's annotations without a look at the rest of the file.

    The function's spans are places in `text`.
    """
    for annotation in function.annotations:
        subject = Subject(function, annotation, text)
        for stage in STAGES:
            found = [diagnostic for check in stage.checks for diagnostic in check(subject)]
            yield from found
            if stage.ends and any(diagnostic.severity is Severity.ERROR for diagnostic in found):
                break


def check_file(file: File) -> Iterator[Diagnostic]:
    """What takes more than one item to see."""
    for check in FILE_CHECKS:
        yield from check(file)
