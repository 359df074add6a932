"""The way of a plan to a ledger.

- `recorded_calls`, `prompt_layout`, `token_scale`: what calls report of themselves, where every block stands in every
  prompt, and what local counts measure at the provider. `inputs` holds all of it: no plan changes any of it.
- `plan_edits` asks the plan's strategies what they change: a single strategy that knows its edits in advance for all
  calls at once, any other plan call by call (`simulation`). Each decision is an operation on a block.
- `renderer` makes of a block and its operations what is sent, and counts its tokens.
- `edits` holds what comes of it: one row for every time a block's rendition becomes another.
- `prompt_edits` places these in the prompts: how much shorter each is, and how far it begins as the one before.
- `ledger` turns that into what the provider measures and charges: one row of figures a call.
- `replay` does all of this, and answers questions about any call and any block.
"""
