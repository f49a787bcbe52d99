"""What a user can set: one field an option, from which flags, scenario files and axes follow."""
