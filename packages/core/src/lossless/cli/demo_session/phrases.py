"""Turns of phrase for what happens with every service of the story; ``{name}`` and the like are filled in."""

from __future__ import annotations

__all__ = [
    "CANARY",
    "CENTS",
    "COMPARE",
    "COMPARED",
    "DONE",
    "FAILED",
    "FINDING",
    "GO_ON",
    "NEWS",
    "NEXT",
    "NOTED",
    "OPENING",
    "PROMOTE",
    "QUESTIONS",
    "TESTS",
    "TESTS_AGAIN",
    "WATCH",
]

OPENING = (
    "Next is {name}, {owner}'s service: about {rate} requests a second at noon, entries in `{table}`. I read its ledger client "
    "and look for other traces of ledger01.",
    "On to {name}. First the client, and every mention of the old ledger in its folder.",
    "{name} now. Before I change anything I want to see how it writes and who else knows about `{table}`.",
    "To {name}, then ({owner} owns it): reading the client, searching for ledger01.",
    "Then {name}. It can {operations}, all of them through one client file as far as I know. Let me see.",
    "{name} is the next one on the list. {owner} says it has not been touched since spring, so I read it closely.",
    "I take {name}: {rate} requests a second, one table, `{table}`. Code and search at the same time.",
    "Now {name}. I want the write path first; the README of that folder is two years old.",
)

FINDING = (
    "{oddity} I look at how it is deployed before I propose anything.",
    "One thing here is different from the others. {oddity} Let me check its values, too.",
    "The client is what I expected, except for this: {oddity} Checking the deployment before we decide.",
    "{oddity} That needs a decision; I read the deployment values in the meantime.",
    "So the {entity} side is plain, but there is a catch. {oddity} Values next.",
    "Found it. {oddity} I will not work around that silently. Here are the values it runs with.",
)

TESTS = (
    "Both edits are in. I run the tests of {name} against the two ledgers in containers.",
    "Now the tests, with `{test}` added.",
    "Tests of {name}, old and new ledger side by side:",
    "I added `{test}` as the guard for this and run everything.",
    "Done. Running the whole suite of {name} once, not only the new test.",
    "Let me see whether the suite agrees.",
    "Tests next. They take a minute or two; `{test}` is among them.",
    "I run the suite in all four write modes.",
)

FAILED = (
    "The guard fails, and for a good reason: the retry makes a new key by appending `-r1`, so the gateway can't tell that it is "
    "the same entry. The key has to stay the reference as it is. I change the retry.",
    "`{test}` fails. The old client added a suffix on the second attempt; ledger01 never noticed, because its unique index was "
    "on another column. I take the suffix out.",
    "One failure, in the new test. The retry goes out under another key than the first attempt. That would have been a double "
    "booking in production. Fixed by passing the reference through.",
    "Good that this test exists: on a deadline the client tries again with `-r1` behind the reference. I remove that; the "
    "gateway is idempotent by key, there is no need for it.",
)

TESTS_AGAIN = (
    "Again, the whole suite:",
    "Once more.",
    "Running it again with the fixed retry.",
    "That should do. The suite from the start:",
    "Fixed, committed, and tested again:",
    "Second run.",
)

COMPARE = (
    "All green. The mirror copies the writes of {name} since Friday; I compare the last hour of it.",
    "Passed. Now what both ledgers have for {name}, last 60 minutes.",
    "Fine. I compare what both ledgers have for {name}.",
    "Green. Now the comparison on real traffic, last 60 minutes.",
    "The suite agrees. What does production say? Comparing both ledgers.",
    "Tests pass. The mirrored writes of {name} against its own, over the last hour:",
    "Everything passes. I compare what {name} wrote to `{table}` with what arrived in the gateway.",
    "No failures. Comparing, with the entries of the last hour:",
)

CENTS = (
    "{count} of {checked} differ, by a cent each, and all of them were booked before the restart that loaded the new code. I "
    "wait for a clean window and compare once more.",
    "{count} entries are one cent apart. Their booking times are all from the minutes when the old pods were still draining. To "
    "be sure, a second comparison over a window without a rollout in it.",
    "Not equal yet: {count} rows have a cent too much or too little. It is the pods of the previous build, they still rounded "
    "on their own. Comparing again now that they are gone.",
)

COMPARED = (
    "{checked} entries, no difference. I put 10 % of the writes of {name} on the gateway.",
    "Equal, all {checked} of them. Canary with 10 %.",
    "No difference in {checked} entries. Next step is the canary.",
    "{checked} compared, {checked} equal. 10 % go to the gateway now.",
    "The two ledgers agree on {checked} entries. Starting the canary of {name}.",
    "That is clean: {checked} entries, none different, none missing on either side. Canary, 10 %.",
    "{checked} and {checked}. I take {name} to dual writes with 10 % reading back from the gateway.",
)

CANARY = (
    "The canary is up. Metrics and logs of the first minutes, together:",
    "Rolled out. I watch the numbers and the log for a while.",
    "It is serving. Let me look at both latency and the log before I say anything.",
    "Running. A quarter of an hour of metrics, and the newest log lines:",
    "10 % of {name} are on the gateway. What do the numbers say, and what does the log?",
    "The new pods of {name} are ready. Metrics since the rollout began, and a piece of the log:",
    "Fifteen minutes have passed. Numbers and log of {name}:",
    "Now watching {name}.",
)

WATCH = (
    "p99 moves between {low} and {high} ms, errors are within what we see on other days, retries all succeed at the second "
    "attempt. From my side {name} can go to 100 %.",
    "Nothing unusual: a few slow posts, no failed one. I would promote.",
    "Healthy. The `UNAVAILABLE` lines are the gateway pod that restarted for the new certificate bundle; each was retried once. "
    "Ready for 100 % when you are.",
    "Latency is where it was with the old ledger, give or take 3 ms. No objection to promoting {name}.",
    "The log has some slow posts around the full minute, that is the metrics scrape. Everything else is quiet. Promote?",
    "Between {low} and {high} ms at p99, which is what {owner} told me to expect. The errors are declined cards, not ours. I "
    "would go to 100 %.",
    "I compared with the same quarter of an hour yesterday: rate within 8 %, p99 at most {high} ms, no error that is new. "
    "{name} is ready.",
    "Retries are at the level of every other service, the pool has room, p99 peaks at {high} ms. Nothing holds us up.",
    "Quiet. One pod took longer to warm up, which explains the first minute of the table. Shall I promote {name}?",
)

GO_ON = (
    "Yes, go to 100 %.",
    "Looks good. Promote it.",
    "Fine with me.",
    "OK, next step.",
    "Go on.",
    "Promote, and tell {owner}.",
    "Yes. And please keep the old pool open for another day.",
    "Do it. I am in a meeting until the full hour, no need to wait for me.",
    "Agreed. 100 %.",
    "Good. Go, and then take the next one.",
    "Go ahead.",
    "Yes please. {owner} is waiting for it.",
    "OK. I looked at the dashboard myself, same impression.",
    "Go. I tell {owner} in the stand-up, too.",
)

PROMOTE = (
    "Promoting {name}, and telling the team.",
    "{name} goes to 100 %. Message to #team-{name} at the same time.",
    "All writes of {name} on the gateway now; I let {owner}'s team know.",
    "Promotion and note to the channel:",
    "Thank you. Going to 100 %, and writing to {owner}'s channel.",
    "100 % for {name}, and the message that I promised {owner}.",
    "Here we go: everything of {name} to the gateway, and a short note to the team.",
)

NEWS = (
    "{name} writes to the gateway only, since {clock}. The old client stays in the code behind `writeMode` until Friday. If "
    "something looks wrong, write here or page payments-oncall.",
    "Hello {owner}, hello team: all ledger writes of {name} go to the gateway since {clock}. Dashboards have a new row "
    "'gateway'. Nothing to do for you.",
    "{name} has moved ({clock}). Compared before: {checked} entries, no difference. Please do not deploy until tomorrow morning.",
    "Ledger move of {name} is done, {clock}. The alert on `ledger01_errors_total` is muted for you; the one on the gateway is "
    "active.",
)

DONE = (
    "{name} is finished: {checked} entries compared without a difference, guard `{test}` in place, all writes on the gateway "
    "since {clock}.",
    "Done with {name}. What is left there: removing the old client after Friday, noted in the list of follow-ups.",
    "That was {name}. {done} of 20 services have moved; so far nothing had to be rolled back.",
    "{name} is through. {owner} has confirmed in the channel. {done} done, {left} to go.",
    "{name}: moved, compared, announced. I close its checklist and take the next one.",
    "{name} runs on the gateway alone since {clock}. Its old alert is muted, the new one is active, and I tested that it rings.",
    "All writes of {name} are on the gateway. {checked} entries were compared before that; `{table}` gets no rows any more.",
    "{done} of 20: {name} is done. Nobody complained, which is the best one can hear about a ledger.",
)

NOTED = (
    "Your decision for {name} ('{remark}') is in docs/migration/decisions.md.",
    "docs/migration/decisions.md has a line on it, so that the reason can be found later: {remedy}",
)

NEXT = (
    "Very good. {following} then.",
    "Thanks. Do you want to take a break between the two, or go on with {following} at once? I have time either way.",
    "Nice. One less.",
    "Good. {following} belongs to a team in another time zone, so better now than in the evening.",
    "I saw it. Continue.",
    "Great, thank you. Anything that surprised you? Otherwise {following}.",
    "Done is done. Next.",
    "That went faster than I thought. Please take the same care with {following}.",
    "OK, {following} is next on the list, as far as I see.",
    "Thank you. I updated the wall here: {done} green, {left} to go.",
)

QUESTIONS: tuple[tuple[str, str], ...] = (
    (
        "How many writes a second does {name} make at its peak?",
        "About {peak}. The gateway allows 1 200 a second for each client, so there is room; I would ask for more from 900 on.",
    ),
    (
        "Who else has to know before you switch {name}?",
        "{owner} and #team-{name}. Nobody else reads `{table}`: I looked for it in all repositories and in the grants of "
        "ledger01.",
    ),
    (
        "What happens to entries that are in flight while you switch?",
        "They finish in the mode they began with. The mode is read once for each request, and a rollout waits for open requests "
        "before a pod goes away, at most 30 seconds.",
    ),
    (
        "Could we have skipped the comparison for this one? It is small.",
        "I would not want to. {name} is small, but it is where a difference would be noticed last, and the comparison costs us "
        "nothing.",
    ),
    (
        "Is the p99 alert of {name} still right after the switch?",
        "Yes. It measures the request as a whole, and the ledger is a small share of that. I only changed the label in its "
        "dashboard.",
    ),
    (
        "Did anyone review the edit?",
        "{owner} did, half an hour ago, with one comment about a variable name. I took it over.",
    ),
    (
        "What would we have to do to get {name} back to the old ledger?",
        "Set `writeMode: dual`, wait for one comparison, then `old`. About twenty minutes. As long as we are in dual mode "
        "nothing has to be copied, since both ledgers have every entry.",
    ),
    (
        "Please check that the pod disruption budget lets you roll {name} in one go.",
        "It does: one pod at a time, {pods} pods, about {minutes} minutes in total. I do not have to touch the budget.",
    ),
    (
        "Does {name} have any job at night that I should know of?",
        "One: `{table}_vacuum` at 04:10, on the database side. It has nothing to vacuum any more after the switch, so I "
        "scheduled its removal.",
    ),
    (
        "Why are there two connection pools in {name} now?",
        "One for ledger01, as before, and one for the gateway. The first goes away with the old client. Until then it idles "
        "with a minimum of one connection.",
    ),
    (
        "Whose quota does the traffic of {name} count against?",
        "Its own: the gateway tells clients apart by the certificate's service name. I saw `{name}` in its quota table, at "
        "{share} % of the limit.",
    ),
    (
        "Are the amounts in the log OK? I do not want card data there.",
        "Only amounts, currencies and references. I searched the last day for anything that passes a Luhn check: no hit.",
    ),
)
