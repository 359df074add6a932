"""What `inspector doctor` looks at: the terminal, the machine, what was installed and what is found."""
