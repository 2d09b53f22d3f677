/* next_program.c - exits with 0 if its first library finds the function of the second. */
int where(void);

int main(void) {
    return where() == 21 ? 0 : 1;
}
