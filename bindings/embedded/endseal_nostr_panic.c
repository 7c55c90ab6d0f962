/* The weak definition of the function that the library calls after a defect of its own. */
#include <stdlib.h>

#include "endseal_nostr.h"

__attribute__((weak)) void endseal_nostr_panic(void) {
    abort();
}
