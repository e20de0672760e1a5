"""How two hosts differ, or one host before and after, and what each difference means."""
