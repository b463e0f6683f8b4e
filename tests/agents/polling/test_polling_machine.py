"""A channel as people use it, scanned with any budget, against a reference that looks at it whole.

The reference holds one thing per reply: whether it was settled. Every reply that answers a post of
ours has to come with each whole scan until it is, and nothing else ever comes as a reply.
"""

from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from small_slack import BOT, CHANNEL, ORG, OURS, PERSON, SYSTEM, US, Said, SmallSlack

from sayso.agents.polling.reading import Adjacency, Where
from sayso.agents.polling.rules import channel_after, watch_after
from sayso.agents.polling.scan import Scan, Slack, read_channel
from sayso.agents.polling.state import ChannelState, Watch
from sayso.connectors.slack.errors import RateLimited
from sayso.schemas.slack import Message
from sayso.schemas.ts import Ts, just_before, micros

WINDOW = 7_200
AUTHORS = st.sampled_from([PERSON, PERSON, PERSON, BOT, SYSTEM])
WORDS = st.sampled_from(["plain", "plain", "mention", "link"])

T = TypeVar("T")


def at_once(awaited: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        awaited.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("the small Slack answers at once")


class OneChannel(RuleBasedStateMachine):
    """People and bots on one side, the scan and its outcomes on the other."""

    def __init__(self) -> None:
        super().__init__()
        self.slack = SmallSlack()
        self.state = ChannelState()
        self.watches: dict[Ts, Watch] = {}
        self.ticks = 0
        # The reference.
        self.published: dict[Ts, Message] = {}
        """Replies whose outcome is due, in the form published last."""
        self.settled: set[Ts] = set()
        self.read: set[Ts] = set()
        """Whatever was published, as a reply or as something else."""
        self.edited_since: set[Ts] = set()
        self.was_cut = False

    # What people do.

    @rule()
    def we_post(self) -> None:
        self.slack.say(OURS, "What about this?")

    @rule(author=AUTHORS, words=WORDS, which=st.integers(0, 9))
    def somebody_writes(self, author: Any, words: str, which: int) -> None:
        self.slack.say(author, self._text(words, which))

    @rule(many=st.integers(2, 7))
    def people_write_at_once(self, many: int) -> None:
        for number in range(many):
            self.slack.say(PERSON, self._text("mention" if number % 2 else "plain", 0))

    @rule(author=AUTHORS, which=st.integers(0, 9), broadcast=st.booleans())
    @precondition(lambda self: self._posts())
    def somebody_replies(self, author: Any, which: int, broadcast: bool) -> None:
        posts = self._posts()
        self.slack.say(author, root=posts[which % len(posts)], broadcast=broadcast)

    @rule()
    def time_passes(self) -> None:
        self.slack.seconds += WINDOW

    @rule(which=st.integers(0, 30), words=WORDS)
    @precondition(lambda self: self._messages())
    def somebody_edits(self, which: int, words: str) -> None:
        ts = self._messages()[which % len(self._messages())].ts
        self.slack.edit(ts, self._text(words, which))
        self.edited_since.add(ts)

    @rule(which=st.integers(0, 30))
    @precondition(lambda self: self._messages())
    def somebody_deletes(self, which: int) -> None:
        self.slack.delete(self._messages()[which % len(self._messages())].ts)

    @rule(which=st.integers(0, 30))
    @precondition(lambda self: self._posts())
    def we_delete_a_post(self, which: int) -> None:
        self.slack.delete(self._posts()[which % len(self._posts())])

    # What we do.

    @rule()
    def a_whole_scan(self) -> None:
        # After a scan that was cut short, one takes up what was left, and the next sees it whole.
        sweeping = self.state.sweep_to is not None
        answering = self._answering()
        scan = self._scan(None)
        assert scan is not None
        assert scan.note is None
        came = {one.ts: one for one in scan.replies}
        # Whatever was published and is not settled comes again, withdrawn if it is no more.
        assert set(self.published) <= set(came)
        for ts in self.published:
            assert (came[ts].change == "deleted") >= (ts not in self.slack.said)
        if not sweeping:
            # Whatever answers us came by now.
            assert answering <= set(came) | self.settled
        self._take(scan)

    @rule(pages=st.integers(0, 4))
    def a_scan_within_a_budget(self, pages: int) -> None:
        scan = self._scan(pages)
        if scan is not None:
            self.was_cut = self.was_cut or scan.note is not None
            self._take(scan)

    @rule(which=st.integers(0, 30))
    @precondition(lambda self: self.published)
    def a_reply_is_settled(self, which: int) -> None:
        ts = sorted(self.published)[which % len(self.published)]
        published = self.published.pop(ts)
        self.settled.add(ts)
        if published.is_reply and published.thread_ts in self.watches:
            watch = self.watches[published.thread_ts]
            moved = watch.progress.settled(ts)
            self.watches[watch.thread] = watch.model_copy(update={"progress": moved})
        else:
            progress = self.state.progress.settled(ts)
            self.state = self.state.model_copy(update={"progress": progress})

    # What holds at every instant.

    @invariant()
    def no_cursor_is_past_what_is_not_settled(self) -> None:
        every = [self.state.progress, *(watch.progress for watch in self.watches.values())]
        held = {ts for one in every for ts in one.outstanding}
        assert held == set(self.published)
        for one in every:
            assert micros(one.cursor) <= micros(one.seen)
            if one.outstanding:
                assert micros(one.cursor) <= micros(just_before(min(one.outstanding)))
            elif one.gap is None:
                assert one.cursor == one.seen

    @invariant()
    def what_the_channel_left_unread_is_after_its_cursor(self) -> None:
        progress = self.state.progress
        read = progress.gap[0] if progress.gap else progress.seen
        assert micros(progress.cursor) <= micros(read)

    def teardown(self) -> None:
        """However it was cut short, two whole scans later everything is read."""
        for _ in range(2):
            self.a_whole_scan()
        assert self.state.sweep_to is None
        assert self.state.progress.gap is None
        assert self._answering() <= set(self.published) | self.settled

    # The machinery.

    def _scan(self, pages: int | None) -> Scan | None:
        self.ticks += 1
        self.slack.pages_left = pages
        slack = Slack(
            client=self.slack,  # type: ignore[arg-type]
            suggestions=CHANNEL,
            conversations=frozenset({CHANNEL}),
            adjacency=Adjacency(enabled=True, window=WINDOW),
        )
        where = Where(org=ORG, channel=CHANNEL, tick=f"tick-{self.ticks}")
        watches = {root: self.watches[root] for root in self.state.roots}
        try:
            return at_once(read_channel(slack, where, self.state, watches))
        except RateLimited:
            return None

    def _take(self, scan: Scan) -> None:
        """Take a scan into the state, as the agent does, and hold it against the facts."""
        for post in scan.new_watches:
            self.watches.setdefault(post.thread, post)
        for thread, batch in scan.threads.items():
            self.watches[thread] = watch_after(self.watches[thread], batch)
        born = [post.thread for post in scan.new_watches]
        self.state = channel_after(
            self.state, scan.channel, born=born, gone=scan.gone, left=scan.left
        )
        for one in scan.replies:
            assert one.answers is not None
            assert one.change == "deleted" or self.slack.said[one.ts].author == PERSON
            # A settled one comes again when it was edited, and then until that is settled too.
            if one.ts in self.settled and not self.was_cut:
                assert one.ts in self.edited_since
            self.edited_since.discard(one.ts)
            self.settled.discard(one.ts)
            self.published[one.ts] = one
        replies = {one.ts for one in scan.replies}
        others = {one.ts for one in scan.others}
        assert not replies & others
        self.read |= replies | others
        assert len(replies) == len(scan.replies)

    def _answering(self) -> set[Ts]:
        """Replies of people to posts of ours, by looking at the whole channel."""
        found: set[Ts] = set()
        before: Said | None = None
        posts = self._posts()
        for one in self.slack.top_level():
            follows = (
                before is not None
                and before.author == OURS
                and micros(one.ts) - micros(before.ts) <= WINDOW * 1_000_000
            )
            addressed = f"<@{US}>" in one.text or any(_link(post) in one.text for post in posts)
            # What was read before and answered nothing then does not become an answer when its
            # neighbours go.
            if one.author == PERSON and (follows or addressed) and self._is_unread(one):
                found.add(one.ts)
            if one.author != SYSTEM:
                before = one
        for post in posts:
            found |= {one.ts for one in self.slack.replies(post) if one.author == PERSON}
        return found

    def _is_unread(self, one: Said) -> bool:
        """Not published in this form yet. An edit is seen as far back as history is read."""
        if one.ts not in self.read:
            return True
        progress = self.state.progress
        floor = min([progress.cursor, *map(just_before, self.state.roots[:1])], key=micros)
        edited = one.edited is not None and micros(one.edited) > micros(progress.edits)
        return edited and micros(one.ts) > micros(floor) and not self.was_cut

    def _messages(self) -> list[Said]:
        """Messages of others, oldest first."""
        return [self.slack.said[ts] for ts in sorted(self.slack.said) if self._is_others(ts)]

    def _is_others(self, ts: Ts) -> bool:
        return self.slack.said[ts].author in (PERSON, BOT)

    def _posts(self) -> list[Ts]:
        return [one.ts for one in self.slack.top_level() if one.author == OURS]

    def _text(self, words: str, which: int) -> str:
        posts = self._posts()
        if words == "mention":
            return f"<@{US}> this"
        if words == "link" and posts:
            return f"see {_link(posts[which % len(posts)])}"
        return "plain"


def _link(post: Ts) -> str:
    return f"<https://acme.example/archives/{CHANNEL}/p{post.replace('.', '')}>"


OneChannel.TestCase.settings = hypothesis_settings(
    max_examples=150, stateful_step_count=30, deadline=None
)
TestOneChannel = OneChannel.TestCase


# What the machine found once.


def test_what_one_scan_left_is_left_still_when_the_next_is_cut_short_before_it() -> None:
    channel = OneChannel()
    channel.people_write_at_once(many=2)
    channel.people_write_at_once(many=5)
    channel.a_scan_within_a_budget(pages=3)

    channel.a_scan_within_a_budget(pages=2)

    assert channel.state.sweep_to is not None
    channel.teardown()


def test_a_message_between_two_stretches_is_a_reply_although_one_does_not_show_its_post() -> None:
    channel = OneChannel()
    channel.we_post()
    channel.we_post()
    channel.a_whole_scan()
    channel.people_write_at_once(many=2)
    channel.a_scan_within_a_budget(pages=1)
    channel.we_delete_a_post(which=1)

    channel.a_whole_scan()

    assert len(channel.published) == 2
