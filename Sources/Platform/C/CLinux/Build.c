#include "Build.h"

#ifndef MARTLET_COMMIT
#define MARTLET_COMMIT unknown
#endif

#define TEXT(tokens) TEXT_OF(tokens)
#define TEXT_OF(tokens) #tokens

const char *martlet_commit(void) { return TEXT(MARTLET_COMMIT); }
