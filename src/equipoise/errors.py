"""Every error a user can meet: what was wrong, and what to do about it."""

from __future__ import annotations


class EquipoiseError(Exception):
    """Root of all errors raised on purpose by this package.

    The message says what was wrong; ``hint`` says what to type next.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (type(self), self.message, self.hint))


class InvalidProblem(EquipoiseError, ValueError):
    """The description of the problem contradicts itself."""


class DuplicateArm(InvalidProblem):
    """Two arms share a name."""


class BudgetTooSmall(InvalidProblem):
    """The budget does not pay for d + 1 units of every arm, or for its floor where that is higher."""


class BudgetTooLarge(InvalidProblem):
    """No fewer units than rows in the table: none would be left to measure errors on."""


class LimitConflict(InvalidProblem):
    """Floors and caps that no allocation can keep."""


class InvalidMoment(InvalidProblem):
    """Σ is not a symmetric positive definite d×d matrix."""


class InvalidFeatures(InvalidProblem):
    """Fields or a formula that contradict each other."""


class InvalidContext(EquipoiseError, ValueError):
    """A context of the wrong length, or with values that are not finite numbers."""


class InvalidRecord(InvalidContext):
    """A record with a field that is missing, unknown, out of its range or of another kind."""

    field = ""
    """Its name."""


class InvalidOutcome(EquipoiseError, ValueError):
    """An outcome that is not a finite number."""


class BudgetExhausted(EquipoiseError, RuntimeError):
    """All units of the budget have been assigned, or what is left pays for no arm."""


class NoArmLeft(BudgetExhausted):
    """Some of the budget is left, but every arm is closed or at its cap."""


class AssignmentNotFound(EquipoiseError, KeyError):
    """No unit was assigned under that id."""

    __str__ = EquipoiseError.__str__  # KeyError would print the repr


class AssignmentClosed(EquipoiseError, ValueError):
    """The unit cannot change in that way any more."""


class OutcomeConflict(AssignmentClosed):
    """A second, different outcome for the same unit."""


class WriteInProgress(EquipoiseError, RuntimeError):
    """A change of an experiment from inside another one: a signal handler that tells during ``ask``."""


class UnitConflict(EquipoiseError, ValueError):
    """The key of a unit that is known already, with another context or another arm."""


class ExperimentPaused(EquipoiseError, RuntimeError):
    """No unit is assigned for the time being."""


class InvalidEvent(EquipoiseError, ValueError):
    """An event that does not fit the experiment that it is applied to."""


class ReplayMismatch(EquipoiseError, RuntimeError):
    """A history that is decided anew leads to other arms, scores or features than were recorded."""


class StateMismatch(EquipoiseError, ValueError):
    """A saved experiment of another version, or one that cannot be."""


class UnknownArm(EquipoiseError, KeyError):
    """No arm has that name."""

    __str__ = EquipoiseError.__str__


class InvalidPolicy(EquipoiseError, ValueError):
    """A policy that cannot be built or used as asked."""


class UnknownPolicy(InvalidPolicy, KeyError):
    """No policy is registered under that name."""

    __str__ = EquipoiseError.__str__


class UnregisteredPolicy(InvalidPolicy, AttributeError):
    """A policy without a name of its own, where one is needed."""

    __str__ = EquipoiseError.__str__


class NameTaken(InvalidPolicy):
    """Two policies want one name."""

    policy = ""
    """The name."""


class ImportFailed(InvalidPolicy, ImportError):
    """A file or module with policies that cannot be imported."""


class PolicyNotAtHand(InvalidPolicy):
    """A policy of one's own that is not registered here, or not as it was when the experiment began."""


class InvalidArgument(EquipoiseError, ValueError):
    """An argument outside its range."""


class InvalidScenario(EquipoiseError, ValueError):
    """A simulated world that contradicts itself."""


class InvalidTable(EquipoiseError, ValueError):
    """A table that cannot be replayed as asked: columns, text, missing cells, or an unreadable file."""


class CheckpointMismatch(EquipoiseError, ValueError):
    """A checkpoint of another version, scenario or seed."""


class OutputNotWritable(EquipoiseError, OSError):
    """A folder or file that cannot be written."""

    __str__ = EquipoiseError.__str__


class OutputFull(OutputNotWritable):
    """No space is left for a file. What was there before is as it was."""


class OutputReadOnly(OutputNotWritable, PermissionError):
    """A folder or file that may not be written by who runs the program, or on a read-only disk."""


class OutputExists(EquipoiseError, FileExistsError):
    """A file of an earlier run, which is not replaced without being asked."""

    __str__ = EquipoiseError.__str__


class ClusterUnreachable(EquipoiseError, ConnectionError):
    """No scheduler answers at that address."""

    __str__ = EquipoiseError.__str__


class DataNotFound(EquipoiseError, FileNotFoundError):
    """No such file, or a source that was not fetched yet."""

    __str__ = EquipoiseError.__str__


class InvalidData(EquipoiseError, ValueError):
    """A file that is not what it should be."""


class ArchiveDamaged(InvalidData):
    """An archive of an experiment that is cut off or damaged."""


class RatingOutOfRange(InvalidData):
    """A rating that is not on the scale of its source."""


class DuplicateRating(InvalidData):
    """A user rated an item twice."""


class NoCompleteUsers(EquipoiseError, ValueError):
    """Fewer users than asked for have rated all the chosen items."""


class TermsNotAccepted(EquipoiseError, PermissionError):
    """Data whose terms of use must be accepted before the first download."""

    __str__ = EquipoiseError.__str__


class DownloadFailed(EquipoiseError, ConnectionError):
    """A file that could not be downloaded."""

    __str__ = EquipoiseError.__str__


class ChecksumMismatch(DownloadFailed):
    """A downloaded file with other bytes than those that were published."""


class MissingExtra(EquipoiseError, ImportError):
    """An optional dependency is needed for this."""


class CompilerDisabled(EquipoiseError, RuntimeError):
    """Numba was told not to compile."""


class CheckFailed(EquipoiseError, AssertionError):
    """A policy breaks its contract; see :mod:`equipoise.checks`."""


class NoPropensities(EquipoiseError, RuntimeError):
    """Nothing was left to chance, so nothing can be weighted or drawn anew by lot."""


class NotReplayable(EquipoiseError, RuntimeError):
    """A history that cannot be gone through again from what an experiment has kept."""


class NotIdentified(EquipoiseError, RuntimeError):
    """The outcomes known do not tell what is asked: an arm has no model, or nothing is known of its noise."""


class NotRedactable(EquipoiseError, RuntimeError):
    """A unit whose data are still needed, so that they cannot be removed yet."""


class ErasureUnfinished(EquipoiseError, RuntimeError):
    """A unit is redacted in the log, but files of the store may still hold bytes of what was erased."""

    unit = 0
    """Its number."""


class ChainBroken(EquipoiseError, ValueError):
    """A log in which a row is missing, exchanged or changed."""

    sequence = 0
    """The first row that is not what it should be."""


class ReceiptUnknown(EquipoiseError, LookupError):
    """A receipt of a call that is not in the log: of another experiment, or from before a restoration."""


class ReasonMissing(EquipoiseError, ValueError):
    """A change that must be explained, without a reason."""


class WrongMode(EquipoiseError, ValueError):
    """Data of a practice experiment where live data belong, or the other way round."""


class InvalidStore(EquipoiseError, ValueError):
    """A URL that names no store, or a place where none can be kept."""


class NotPicklable(EquipoiseError, TypeError):
    """A live experiment that is to be pickled or copied; the hint says what to do instead."""


class NotOffered(EquipoiseError, NotImplementedError):
    """Something that this kind of store does not do; the hint says what does it."""


class ExperimentNotFound(EquipoiseError, KeyError):
    """The store holds no experiment of that name."""

    __str__ = EquipoiseError.__str__


class ExperimentExists(EquipoiseError, ValueError):
    """The store holds an experiment of that name already."""


class SchemaMismatch(EquipoiseError, RuntimeError):
    """A database laid out by another version of this package."""


class StoreBusy(EquipoiseError, TimeoutError):
    """Another writer held the experiment for longer than one waits. Nothing was stored."""

    __str__ = EquipoiseError.__str__


class StoreUnavailable(EquipoiseError, ConnectionError):
    """The server or the file cannot be reached, or went away. Nothing was stored."""

    __str__ = EquipoiseError.__str__


class CommitUnknown(StoreUnavailable):
    """The store went away in the very moment of storing: what was sent may be stored, or not."""


class StoreFull(EquipoiseError, OSError):
    """No space is left where the store is. Nothing was stored."""

    __str__ = EquipoiseError.__str__


class StoreReadOnly(EquipoiseError, PermissionError):
    """The store may not be written here, and reading a file may need that, too. Nothing was stored."""

    __str__ = EquipoiseError.__str__


class StoreDamaged(EquipoiseError, OSError):
    """The store's bytes are not those that were written."""

    __str__ = EquipoiseError.__str__


class DeviceUnavailable(EquipoiseError, RuntimeError):
    """The GPU that was asked for cannot be used here."""


class NotOnDevice(EquipoiseError, ValueError):
    """Trials that a GPU cannot run."""


class FitWarning(UserWarning):
    """Arms got contexts unlike the population's, and outcomes are not linear: models may mislead."""


class SupportWarning(UserWarning):
    """The outcomes speak against the features that were chosen; estimates are given all the same."""


class ScaleWarning(UserWarning):
    """Targets whose spreads differ were taken for targets in different units, and standardised."""


class PluginWarning(UserWarning):
    """Policies of another package that cannot be used; all others can."""


def _restore(kind: type[EquipoiseError], message: str, hint: str | None) -> EquipoiseError:
    return kind(message, hint=hint)
