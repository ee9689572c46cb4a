ministat two missing
