"""Texts and thinking of the agent while it closes the findings of a review."""

OPENINGS = (
    "Next finding: `{name}`. I scan it, and read the module with its tests beside it.",
    "On to `{name}`.",
    "`{store}` next: the review's line, what the scanner says, and both files.",
    "I take `{name}` now. The same look at everything first.",
    "Then `{name}`: I want to see every statement and what the tests expect of it.",
    "The next one is `{name}`.",
)

FOUND = (
    "{count} edits in {name}. The insert quotes each text, the lookups by number do not quote at all. Search escapes nothing. All of them take placeholders, apart from the sort column.",
    "{name} was copied from the others, with its own columns. I keep the layout, so that the change is only what the finding asks for. {first} goes through _clean in find_by_{first}; that stays.",
    "Same shape again, {count} edits. IN needs one placeholder for each state; an empty list gives `IN ()`, which sqlite accepts and which finds nothing.",
    "For {name}: ORDER BY cannot be a parameter, a list of allowed columns it is. FIELDS holds exactly the columns one may sort by, without the number. Nobody sorts by number.",
    "LIKE: a percent sign in {first} would match everything. ESCAPE with a backslash, in a raw string. Otherwise placeholders as before.",
)

REMARKS = (
    "Nine statements. `page` puts the caller's column into ORDER BY, where a placeholder cannot stand: it gets a list of allowed columns. The rest are placeholders.",
    "A postcode with an apostrophe is rare, a street with one is not (Rue de l'Église). Placeholders throughout, and nothing doubled by hand.",
    "This module never escaped anything in `add`, which is why its tests failed this morning. Placeholders mend both.",
    "`find_by_title` is what the web shop's search box ends in, so this is the finding that anybody can reach from outside.",
    "`reference` is typed by customers. Orders also have rows of one customer: `customer_id` went into the statement unquoted.",
    "Order lines are imported from a file that suppliers write, so `add` is handed texts of strangers here as well.",
    "Invoice numbers look like numbers and are texts: `billed_to` is the one people can choose.",
    "Bank references come from the bank's file and may hold anything, apostrophes among it.",
    "Reminders: `letter_code` is ours, `sent_to` is not.",
    "The grounds of a refund are free text from a form. All statements again.",
    "Tracking codes come from the carriers' service; a carrier that is broken into would have been enough.",
    "Carriers have no parent, so it is nine statements here.",
    "A return's condition is described by whoever opens the parcel, quotes included.",
    "Stock moves are written by scanners. What a scanner reads is what somebody printed.",
    "Shelves are named by us, `counted_by` by the handheld's login.",
    "Purchases: two texts, both typed here in the office, and still no reason to trust them.",
    "A complaint's subject is the most likely of all texts to hold an apostrophe.",
    "Voucher codes are guessed at by bots all day. `find_by_voucher_code` would have handed them the table.",
    "Price lists have few rows, and nobody from outside reaches them; the finding stands all the same.",
    "Employees: `login_name` is what the sign-in looks up. This one is marked high in the review for a reason.",
    "Visit notes are dictated on the road and come in as a file.",
    "Contracts: `signed_by` again a name, with all that names bring.",
    "Quotes are requested over a form on the web site, `quoted_to` is typed there.",
    "The audit trail is the last one. That it could be emptied by what it records is the finding I like least.",
)

TESTED = (
    "Now the tests, and what the scanner still finds.",
    "",
    "Tests and scanner for `{name}`.",
    "Let me see whether `{name}` holds.",
)

REVIEWED = (
    "I read `{name}` once more as a whole, and look who calls it.",
    "A last look at `{name}` as it is now, and at what else uses `{store}`.",
    "Passes. One reading of the whole file before I leave it.",
)

NOTES = {
    3: " The note for ticket ORD-2291 I keep for the end.",
    7: " I write it so that Halvorsen-Lindqvist can check each line against the review.",
    11: " At this pace everything is in long before 2026-10-15.",
}
"""Notes on the head of the review, by number of closed modules."""

SUMMARY = """This session is being continued from a previous conversation. The summary below covers what was said so far.

1. What was asked: close every finding of docs/review-2026-08.md (SQL injection in 24 modules of `orderdesk/`), one module at a time,
   each with passing tests and a test with hostile input. The first was shown and approved: the others the same way, in the review's
   order, without stopping. No new dependencies.
2. How each module is done: scan with `python tools/scan.py FILE`; read module and tests; every value becomes a placeholder; `page`
   checks `order` against FIELDS and raises ValueError; LIKE with ESCAPE; no apostrophes doubled by hand (look in `_clean`, and in
   `import_rows` where the module's tests failed from the start); then `test_a_text_with_sql_in_it_changes_nothing` at the end of the
   test class; run `python -m unittest -v tests.test_NAME`.
3. Done, tests pass, no findings: {done}.
4. Left: {left}.
5. After every fourth module: all tests, the count of findings, and the list brought up to date. At the end: which findings are closed."""

LAST_WORD = """All 24 findings can be closed. No statement is put together from a text any more, all tests pass, and every module has a test that hands SQL to each of its methods.

| finding | module | statements | severity |
|---|---|---:|---|
{rows}

Three things you may want to know:

- Six modules did not only have the hole, they failed on every name with an apostrophe. That works now.
- Sorting by anything but a module's own columns raises `ValueError`. Callers that pass a column from a request should answer that with a 400.
- Rows that were imported while apostrophes were doubled may hold two of them. I have not touched any data; if you like I write a script that counts them."""
