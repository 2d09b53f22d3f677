/* named_cudart.c - a library that shares only its name with CUDA's runtime, and calls the function
 * passed to it, as the runtime calls the driver.
 */
int tide_named_cudart_call(int (*function)(const void **, const void *), const void **ret_table,
                           const void *identifier);

int tide_named_cudart_call(int (*function)(const void **, const void *), const void **ret_table,
                           const void *identifier) {
    volatile int status = function(ret_table, identifier); /* volatile: the call returns here */
    return status;
}
