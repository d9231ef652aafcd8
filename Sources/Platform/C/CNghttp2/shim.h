#ifndef MARTLET_CNghttp2_H
#define MARTLET_CNghttp2_H
#include <nghttp2/nghttp2.h>
#endif
