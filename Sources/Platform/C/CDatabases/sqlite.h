/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARTLET_SQLITE_H
#define MARTLET_SQLITE_H
#include <sqlite3.h>

/* Binds a text that SQLite copies. SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does
 * not import. */
static inline int martlet_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text,
                                           int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

/* The same with bytes. */
static inline int martlet_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes,
                                           int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/* Without its statistics of memory SQLite takes no lock of the process for each allocation. To be called before
 * anything else of SQLite; without effect afterwards. */
static inline int martlet_sqlite_configure(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#endif
