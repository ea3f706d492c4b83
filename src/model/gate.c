#include "model/gate.h"

const char *gate_result_name(enum gate_result r)
{
    static const char *const N[] = {"pass", "fail", "not testable"};
    return N[r];
}

const char *baseline_says_name(enum baseline_says s)
{
    static const char *const N[] = {"worse", "better", "~"};
    return N[s];
}
