/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARTLET_POSTGRES_H
#define MARTLET_POSTGRES_H
#include <libpq-fe.h>
#endif
