"""Why an answer of the model was not applied."""


class AnswerRefused(Exception):
    """The model answered, and the answer may not be applied.

    The message is one sentence that becomes the row's `last_error`. The next tick asks again. When
    a reply is refused every time, read it: it may ask for a field that `orgs.<org>.fields` does
    not declare (declare it, with its kind), or for a value that does not fit the declared kind.
    When answers of every reply are refused, choose another model in `model.name`.
    """
