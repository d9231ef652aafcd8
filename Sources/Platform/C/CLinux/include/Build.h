#ifndef MARTLET_BUILD_H
#define MARTLET_BUILD_H

/* The commit that the program was built from, as scripts/build gives it in MARTLET_COMMIT; "unknown" in every other
 * build, so that a commit changes nothing there. */
const char *martlet_commit(void);

#endif
