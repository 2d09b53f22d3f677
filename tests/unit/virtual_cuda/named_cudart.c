/* named_cudart.c - a library that has nothing of CUDA's runtime but its name, and calls what it is
 * given, as the runtime calls the driver.
 */
int tide_named_cudart_call(int (*function)(const void **, const void *), const void **ret_table,
                           const void *identifier);

int tide_named_cudart_call(int (*function)(const void **, const void *), const void **ret_table,
                           const void *identifier) {
    volatile int status = function(ret_table, identifier); /* volatile: it returns here */
    return status;
}
