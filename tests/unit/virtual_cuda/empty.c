/* empty.c - a library that has its name alone: which runtime a program has is told by it. */
extern int tide_empty;
int tide_empty;
