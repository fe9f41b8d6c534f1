"""What templates of the admin may ask of the machine."""
