"""What keeps the screen quick while much is computed and painted; `docs/` says what each is worth."""
