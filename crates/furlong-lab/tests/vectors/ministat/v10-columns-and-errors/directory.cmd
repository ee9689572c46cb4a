ministat .
