#ifndef MARTLET_CMicrohttpd_H
#define MARTLET_CMicrohttpd_H
#include <microhttpd.h>
#endif
