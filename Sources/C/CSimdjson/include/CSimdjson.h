#ifndef MARTLET_CSIMDJSON_H
#define MARTLET_CSIMDJSON_H
#ifdef __cplusplus
extern "C" {
#endif
/* The name of the instruction set simdjson picked for this processor. */
const char *martlet_json_implementation(void);
#ifdef __cplusplus
}
#endif
#endif
