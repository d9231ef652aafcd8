#ifndef MARTLET_CZlib_H
#define MARTLET_CZlib_H
#include <zlib.h>
#endif
