"""What can go wrong below the HTTP layer, as one tree.

    ModelError
    ├── ConfigError        a configuration value or combination that no model can be built from
    ├── CheckpointError    a checkpoint folder that is missing, damaged or not ours
    ├── TokenizerError     a SentencePiece model that cannot be read or lacks the special tokens
    ├── DataError          a corpus file that is missing or malformed
    ├── LanguageError      a language the checkpoint does not speak
    ├── InputError         a text that cannot be read: too long for the model, or not UTF-8
    ├── NumericalError     numbers that are not finite where a probability should be
    └── TrainingError      a run that cannot start, resume or go on (NaN loss, changed recipe)

Every message is one line that names the file or field and says what would be right.
"""


class ModelError(Exception):
    """Base of all errors raised by `model`; its message is fit to be shown to a user as it is."""


class ConfigError(ModelError):
    """A configuration value or combination that no model can be built from."""


class CheckpointError(ModelError):
    """A checkpoint folder that is missing, damaged or not ours."""


class TokenizerError(ModelError):
    """A SentencePiece model that cannot be read or lacks the special tokens."""


class DataError(ModelError):
    """A corpus file that is missing or malformed."""


class LanguageError(ModelError):
    """A language the checkpoint does not speak."""


class InputError(ModelError):
    """A text that cannot be read: too long for the model, or not UTF-8."""


class NumericalError(ModelError):
    """Numbers that are not finite where a probability should be."""


class TrainingError(ModelError):
    """A run that cannot start, resume or go on."""
