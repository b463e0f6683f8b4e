"""Which messages answer our posts, and which threads are worth a call: pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sayso.agents.polling.reading import Addressing, Adjacency, Batch, Bounds, Stretch, Where
from sayso.agents.polling.state import ChannelState, Progress, Watch
from sayso.schemas.slack import AnswerTo, AnswerVia, Author, Earlier, Message
from sayso.schemas.ts import Ts, micros

EARLIER_KEPT: Final = 5
MOST_PER_THREAD: Final = 200
"""Messages published per thread and tick; the rest waits for the next tick."""
_EARLIER_LENGTH: Final = 500
_MICROS: Final = 1_000_000
_NOBODY: Final = Author(id="system", kind="system")


def new_posts(window: Iterable[Message], watched: Iterable[Ts]) -> tuple[Message, ...]:
    """Posts of ours in the channel that are not watched yet."""
    known = frozenset(watched)
    return tuple(one for one in window if _is_our_post(one) and one.ts not in known)


def is_worth_reading(watch: Watch, root: Message | None) -> bool:
    """Whether a thread may hold something new, told by its root in the channel's history."""
    if watch.progress.outstanding or root is None or root.change == "deleted":
        return True
    thread = root.thread
    if thread is None or thread.reply_count == 0:
        return False
    latest = thread.latest_reply
    return latest is None or micros(latest) > micros(watch.progress.seen)


def thread_batch(
    watch: Watch, replies: Sequence[Message], *, where: Where, whole: bool = True
) -> Batch:
    """What a watched thread has to publish: new, outstanding and newly edited messages.

    Without `whole` the replies are only the oldest of those asked for.
    """
    progress = watch.progress
    fresh = 0
    kept: list[Message] = []
    others: list[Message] = []
    newest, edits = progress.seen, progress.edits
    recent = watch.recent
    for message in replies:
        if progress.is_new(message.ts):
            if fresh == MOST_PER_THREAD:
                break
            fresh += 1
            newest = message.ts
        elif not _is_due(message, progress):
            continue
        edits = max(edits, message.edited_ts or edits, key=micros)
        if message.author.is_person:
            via: AnswerVia = "broadcast" if message.subtype == "thread_broadcast" else "thread"
            kept.append(_answering(message, watch.thread, watch.text, via, recent))
        else:
            others.append(message)
        recent = remembered(recent, (message,))
    post = AnswerTo(ts=watch.thread, text=watch.text, via="thread")
    end = None if whole or not replies else replies[-1].ts
    read = Stretch(messages=tuple(replies), bounds=Bounds(oldest=progress.cursor, latest=end))
    gone = _gone(progress, read)
    kept.extend(_withdrawal(where, ts, post, thread=watch.thread) for ts in gone)
    return Batch(replies=tuple(kept), others=tuple(others), newest=newest, edits=edits)


def channel_batch(
    progress: Progress,
    stretch: Stretch,
    *,
    where: Where,
    watches: Mapping[Ts, Watch],
    addressing: Addressing,
    adjacency: Adjacency,
) -> Batch:
    """What the channel itself has to publish; replies within threads are not its business."""
    kept: list[Message] = []
    others: list[Message] = []
    newest, edits = progress.seen, progress.edits
    ours: Message | None = None
    before: Message | None = None
    for message in stretch.messages:
        if message.is_reply:
            continue
        due = _is_due(message, progress) and stretch.covers(message.ts)
        answer = _answer(message, before, ours, watches, addressing, adjacency)
        if answer is None and message.ts in progress.outstanding:
            # What made it an answer is deleted, edited away or not read this time. It stays one
            # until it is settled, or nothing would ever free the cursor.
            answer = _unknown_post(message.ts)
        if due and message.author.is_person and answer is not None:
            kept.append(message.model_copy(update={"answers": answer}))
        elif due and message.ts not in progress.outstanding:
            others.append(message)
        if due:
            newest = max(newest, message.ts, key=micros)
            edits = max(edits, message.edited_ts or edits, key=micros)
        if message.author.kind != "system":
            before = message
        if _is_our_post(message):
            ours = message
    for ts in _gone(progress, stretch):
        kept.append(_withdrawal(where, ts, _unknown_post(ts)))
    return Batch(replies=tuple(kept), others=tuple(others), newest=newest, edits=edits)


def together(batches: Sequence[Batch]) -> Batch:
    """Batches of several stretches of one channel as one.

    Stretches overlap, and only one of them may show the post that a message answers.
    """
    replies = tuple(one for batch in batches for one in batch.replies)
    answering = frozenset(_ts_of(replies))
    return Batch(
        replies=replies,
        others=tuple(one for batch in batches for one in batch.others if one.ts not in answering),
        newest=max((batch.newest for batch in batches), key=micros),
        edits=max((batch.edits for batch in batches), key=micros),
    )


def watch_after(watch: Watch, batch: Batch) -> Watch:
    """A watch once a batch of its thread is taken in."""
    fresh = [
        one
        for one in (*batch.replies, *batch.others)
        if watch.progress.is_new(one.ts) and one.change != "deleted"
    ]
    progress = watch.progress.published(
        newest=batch.newest, edits=batch.edits, replies=_ts_of(batch.replies)
    )
    recent = remembered(watch.recent, sorted(fresh, key=lambda one: micros(one.ts)))
    return watch.model_copy(update={"progress": progress, "recent": recent})


def channel_after(
    state: ChannelState, batch: Batch, *, born: Iterable[Ts], gone: Iterable[Ts], left: Ts | None
) -> ChannelState:
    """A channel once a batch of it is taken in; `born` and `gone` are watched threads."""
    progress = state.progress.published(
        newest=batch.newest, edits=batch.edits, replies=_ts_of(batch.replies), left=left
    )
    roots = tuple(sorted({*state.roots, *born} - {*gone}, key=micros))
    return state.model_copy(update={"progress": progress, "roots": roots, "sweep_to": left})


def remembered(recent: tuple[Earlier, ...], messages: Iterable[Message]) -> tuple[Earlier, ...]:
    """The newest messages of a thread after `messages`."""
    added = (
        Earlier(author=one.author.id, ours=one.author.is_self, text=one.text[:_EARLIER_LENGTH])
        for one in messages
    )
    return (*recent, *added)[-EARLIER_KEPT:]


def trigger_answer(
    message: Message, watch: Watch | None, addressing: Addressing, watches: Mapping[Ts, Watch]
) -> Message:
    """The one message of a trigger, with the post it answers if it answers one."""
    if not message.author.is_person:
        return message
    if watch is not None and message.is_reply:
        return _answering(message, watch.thread, watch.text, "thread", watch.recent)
    never = Adjacency(enabled=False, window=0)
    answer = None if message.is_reply else _answer(message, None, None, watches, addressing, never)
    return message.model_copy(update={"answers": answer})


def _answer(
    message: Message,
    before: Message | None,
    ours: Message | None,
    watches: Mapping[Ts, Watch],
    addressing: Addressing,
    adjacency: Adjacency,
) -> AnswerTo | None:
    linked = sorted(addressing.linked(message.text) & watches.keys(), key=micros)
    if linked:
        return AnswerTo(ts=linked[-1], text=watches[linked[-1]].text, via="link")
    if addressing.mentions(message.text):
        # A mention names us and no post in particular: the newest before it is what it is about.
        return AnswerTo(
            ts=ours.ts if ours else message.ts, text=ours.text if ours else "", via="mention"
        )
    if (
        adjacency.enabled
        and before is not None
        and _is_our_post(before)
        and micros(message.ts) - micros(before.ts) <= adjacency.window * _MICROS
    ):
        return AnswerTo(ts=before.ts, text=before.text, via="adjacent")
    return None


def _unknown_post(ts: Ts) -> AnswerTo:
    return AnswerTo(ts=ts, text="", via="adjacent")


def _answering(
    message: Message, root: Ts, text: str, via: AnswerVia, earlier: tuple[Earlier, ...]
) -> Message:
    answers = AnswerTo(ts=root, text=text, via=via, earlier=earlier)
    return message.model_copy(update={"answers": answers})


def _ts_of(messages: Iterable[Message]) -> tuple[Ts, ...]:
    return tuple(message.ts for message in messages)


def _is_our_post(message: Message) -> bool:
    return message.author.is_self and not message.is_reply and message.change != "deleted"


def _is_due(message: Message, progress: Progress) -> bool:
    """New, still to be settled, or edited since: settled ones read again are left alone."""
    return (
        progress.is_new(message.ts)
        or message.ts in progress.outstanding
        or (message.edited_ts is not None and micros(message.edited_ts) > micros(progress.edits))
    )


def _gone(progress: Progress, read: Stretch) -> tuple[Ts, ...]:
    there = {message.ts for message in read.messages if message.change != "deleted"}
    return tuple(ts for ts in progress.outstanding if ts not in there and read.covers(ts))


def _withdrawal(where: Where, ts: Ts, answers: AnswerTo, thread: Ts | None = None) -> Message:
    """What stands for a reply that was published and is gone before it was settled."""
    return Message(
        org=where.org,
        channel=where.channel,
        ts=ts,
        author=_NOBODY,
        text="",
        change="deleted",
        thread_ts=thread,
        answers=answers,
        read_by=where.tick,
    )
