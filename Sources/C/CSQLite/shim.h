#ifndef MARTLET_CSQLite_H
#define MARTLET_CSQLite_H
#include <sqlite3.h>
#endif
