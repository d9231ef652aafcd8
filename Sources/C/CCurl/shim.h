#ifndef MARTLET_CCurl_H
#define MARTLET_CCurl_H
#include <curl/curl.h>
#endif
