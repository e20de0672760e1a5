"""What an event means, what is to be judged and repaired after it, and when to give up."""
