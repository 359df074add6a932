"""The steps from a plan to a ledger.

- `recorded_calls`, `prompt_layout`, `token_scale`: reported usage of the calls, the place of every block in every
  prompt, and the ratio of provider tokens to local counts. `inputs` holds all of it; it is independent of the plan.
- `plan_edits` runs the plan's strategies: a single strategy that knows its edits in advance for all calls at once, any
  other plan call by call (`simulation`). Each decision is an operation on a block.
- `renderer` applies operations to a block and counts the tokens of the result.
- `edits` holds the result: one row for every change to a block's rendition.
- `prompt_edits` locates the edits in the prompts: the tokens removed from each, and the prefix shared with the previous
  prompt.
- `ledger` converts that to provider tokens and cost: one row of figures per call.
- `replay` runs all steps and answers queries about any call and any block.
"""
