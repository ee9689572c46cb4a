ministat commas commas commas commas commas commas commas commas
