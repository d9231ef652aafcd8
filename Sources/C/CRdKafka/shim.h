#ifndef MARTLET_CRdKafka_H
#define MARTLET_CRdKafka_H
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#endif
