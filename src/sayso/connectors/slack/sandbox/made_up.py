"""A small workspace to play in: people are named for their parts."""

from sayso.connectors.slack.sandbox.workspace import Workspace


def made_up_workspace(*, token: str) -> Workspace:
    """Two channels, one person of each kind, another app's bot, and one thread of ours."""
    workspace = Workspace(token=token)
    workspace.add_user("U0LEAD", name="lead")
    workspace.add_user("U0MEMBER", name="member")
    workspace.add_user("U0GUEST", kind="guest", name="guest")
    workspace.add_user("U0PARTNER", kind="external", name="partner")
    workspace.add_user("U0HOOK", kind="bot", name="hook", bot_id="B0HOOK", app_id="A0HOOK")
    workspace.add_channel("C0SUGGEST", name="suggestions")
    workspace.add_channel("C0GENERAL", name="general")
    workspace.say("C0GENERAL", "U0MEMBER", "Good morning.")
    root = workspace.say(
        "C0SUGGEST", workspace.bot.id, "Shall we raise the price of the small plan?"
    )
    workspace.say("C0SUGGEST", "U0LEAD", "Yes, by a tenth.", thread_ts=root)
    return workspace
