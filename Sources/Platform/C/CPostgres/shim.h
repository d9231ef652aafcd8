/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MARTLET_CPostgres_H
#define MARTLET_CPostgres_H
#include <libpq-fe.h>
#endif
