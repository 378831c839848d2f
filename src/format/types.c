/* types.c: the table of GGUF type numbers. See types.h. */
#include "format/types.h"

#define OURS(type, format, name, group, bytes)                                                                         \
    { type, name, group, bytes, SH_FAMILY_OURS, format }
#define OTHER(type, family, name, group, bytes)                                                                        \
    { type, name, group, bytes, SH_FAMILY_##family, SH_FORMATS }

/* Ascending. The size of ik_llama.cpp's types is left open: most have a scale in front of each row or interleave rows. */
static const sh_type_info types[] = {
    OURS(0, SH_F32, "F32", 1, 4),
    OURS(1, SH_F16, "F16", 1, 2),
    OURS(2, SH_Q4_0, "Q4_0", 32, 18),
    OURS(3, SH_Q4_1, "Q4_1", 32, 20),
    OTHER(4, REMOVED, "Q4_2", 0, 0),
    OTHER(5, REMOVED, "Q4_3", 0, 0),
    OTHER(6, GGML, "Q5_0", 32, 22),
    OTHER(7, GGML, "Q5_1", 32, 24),
    OURS(8, SH_Q8_0, "Q8_0", 32, 34),
    OTHER(9, GGML, "Q8_1", 32, 36),
    OTHER(10, GGML, "Q2_K", 256, 84),
    OTHER(11, GGML, "Q3_K", 256, 110),
    OTHER(12, GGML, "Q4_K", 256, 144),
    OTHER(13, GGML, "Q5_K", 256, 176),
    OURS(14, SH_Q6_K, "Q6_K", 256, 210),
    OTHER(15, GGML, "Q8_K", 256, 292),
    OTHER(16, GGML, "IQ2_XXS", 256, 66),
    OTHER(17, GGML, "IQ2_XS", 256, 74),
    OTHER(18, GGML, "IQ3_XXS", 256, 98),
    OTHER(19, GGML, "IQ1_S", 256, 50),
    OTHER(20, GGML, "IQ4_NL", 32, 18),
    OTHER(21, GGML, "IQ3_S", 256, 110),
    OTHER(22, GGML, "IQ2_S", 256, 82),
    OTHER(23, GGML, "IQ4_XS", 256, 136),
    OTHER(24, NUMBERS, "I8", 1, 1),
    OTHER(25, NUMBERS, "I16", 1, 2),
    OTHER(26, NUMBERS, "I32", 1, 4),
    OTHER(27, NUMBERS, "I64", 1, 8),
    OTHER(28, NUMBERS, "F64", 1, 8),
    OTHER(29, GGML, "IQ1_M", 256, 56),
    OURS(30, SH_BF16, "BF16", 1, 2),
    OTHER(31, REMOVED, "Q4_0_4_4", 32, 18),
    OTHER(32, REMOVED, "Q4_0_4_8", 32, 18),
    OTHER(33, REMOVED, "Q4_0_8_8", 32, 18),
    OURS(34, SH_TQ1_0, "TQ1_0", 256, 54),
    OURS(35, SH_TQ2_0, "TQ2_0", 256, 66),
    OTHER(36, BITNET, "I2_S", 0, 0),
    OTHER(37, BITNET, "I8_S", 0, 0),
    OTHER(38, BITNET, "TL1", 0, 0),
    OTHER(39, MXFP4, "MXFP4 or TL2", 0, 0),
    OTHER(40, NVFP4, "NVFP4 or Q1_0_G32", 0, 0),
    OURS(41, SH_Q1_0, "Q1_0", 128, 18),
    OURS(42, SH_Q2_0_G64, "Q2_0", 64, 18),
    OTHER(133, IK, "Q6_0", 0, 0),
    OTHER(134, IK, "IQ1_BN", 0, 0),
    OTHER(135, IK, "IQ2_BN", 0, 0),
    OTHER(136, IK, "Q8_K64", 0, 0),
    OTHER(137, IK, "IQ2_K", 0, 0),
    OTHER(138, IK, "IQ3_K", 0, 0),
    OTHER(139, IK, "IQ4_K", 0, 0),
    OTHER(140, IK, "IQ5_K", 0, 0),
    OTHER(141, IK, "IQ6_K", 0, 0),
    OURS(142, SH_PQ2_0, "PQ2_0", 128, 34),
    OURS(143, SH_PTQ1_0, "PTQ1_0", 128, 28),
    OTHER(144, IK, "IQ4_KS", 0, 0),
    OTHER(145, IK, "IQ2_KS", 0, 0),
    OTHER(146, IK, "IQ4_KSS", 0, 0),
    OTHER(147, IK, "Q8_K16", 0, 0),
    OTHER(148, IK, "Q8_K32", 0, 0),
    OTHER(149, IK, "Q8_KR8", 0, 0),
    OTHER(150, IK, "Q8_K128", 0, 0),
    OTHER(151, IK, "Q8_KV", 0, 0),
    OTHER(152, IK, "IQ5_KS", 0, 0),
    OTHER(153, IK, "IQ2_KT", 0, 0),
    OTHER(154, IK, "IQ3_KT", 0, 0),
    OTHER(155, IK, "IQ4_KT", 0, 0),
    OTHER(156, IK, "IQ3_KS", 0, 0),
    OTHER(157, IK, "IQ2_KL", 0, 0),
    OTHER(158, IK, "IQ1_KT", 0, 0),
    OTHER(202, IK, "Q4_0_R8", 0, 0),
    OTHER(206, IK, "Q5_0_R4", 0, 0),
    OTHER(208, IK, "Q8_0_R8", 0, 0),
    OTHER(210, IK, "Q2_K_R4", 0, 0),
    OTHER(211, IK, "Q3_K_R4", 0, 0),
    OTHER(212, IK, "Q4_K_R4", 0, 0),
    OTHER(213, IK, "Q5_K_R4", 0, 0),
    OTHER(214, IK, "Q6_K_R4", 0, 0),
    OTHER(216, IK, "IQ2_XXS_R4", 0, 0),
    OTHER(217, IK, "IQ2_XS_R4", 0, 0),
    OTHER(218, IK, "IQ3_XXS_R4", 0, 0),
    OTHER(219, IK, "IQ1_S_R4", 0, 0),
    OTHER(220, IK, "IQ4_NL_R4", 0, 0),
    OTHER(221, IK, "IQ3_S_R4", 0, 0),
    OTHER(222, IK, "IQ2_S_R4", 0, 0),
    OTHER(223, IK, "IQ4_XS_R8", 0, 0),
    OTHER(229, IK, "IQ1_M_R4", 0, 0),
    OTHER(230, IK, "BF16_R16", 0, 0),
    OTHER(233, IK, "Q6_0_R4", 0, 0),
    OTHER(335, IK, "IQ2_BN_R4", 0, 0),
    OTHER(337, IK, "IQ2_K_R4", 0, 0),
    OTHER(338, IK, "IQ3_K_R4", 0, 0),
    OTHER(339, IK, "IQ4_K_R4", 0, 0),
    OTHER(340, IK, "IQ5_K_R4", 0, 0),
    OTHER(344, IK, "IQ4_KS_R4", 0, 0),
    OTHER(352, IK, "IQ5_KS_R4", 0, 0),
    OTHER(398, IK, "Q8_KV_R8", 0, 0),
    OTHER(399, IK, "Q8_K_R8", 0, 0),
};

const sh_type_info *sh_type_get(uint32_t type) {
    static const sh_type_info unknown = OTHER(0, UNKNOWN, "unknown", 0, 0);
    size_t low = 0, high = sizeof types / sizeof types[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (types[middle].type == type) return &types[middle];
        if (types[middle].type < type) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return &unknown;
}

#define OUR_FORMATS "Q1_0, Q2_0, PQ2_0, PTQ1_0, TQ1_0, TQ2_0, Q4_0, Q4_1, Q8_0, Q6_K, F16, BF16 or F32"

const char *sh_type_refusal(sh_type_family family) {
    switch (family) {
    case SH_FAMILY_OURS: return "";
    case SH_FAMILY_GGML:
        return "which is not run here; run the file with llama.cpp, or take one of the model in " OUR_FORMATS;
    case SH_FAMILY_REMOVED:
        return "which llama.cpp itself no longer reads; convert the original model again, to " OUR_FORMATS;
    case SH_FAMILY_NUMBERS: return "which no weight of a known model has; convert the original model again";
    case SH_FAMILY_BITNET:
        return "of BitNet, whose arrangement depends on the machine and the version that wrote it and is not recorded "
               "in the file; run the file with BitNet, or convert the original model to TQ2_0 with llama.cpp";
    case SH_FAMILY_MXFP4:
        return "MXFP4 if llama.cpp wrote it, TL2 if BitNet did, neither of which is run here; run the file with the "
               "program that wrote it, or take one of the model in " OUR_FORMATS;
    case SH_FAMILY_NVFP4:
        return "NVFP4 if llama.cpp wrote it, Q1_0 in groups of 32 if PrismML's first fork did, neither of which is run "
               "here; take the publisher's current file, or one of the model in " OUR_FORMATS;
    case SH_FAMILY_IK:
        return "of ik_llama.cpp, which is not run here; run the file with ik_llama.cpp, or take one of the model "
               "in " OUR_FORMATS;
    case SH_FAMILY_UNKNOWN: break;
    }
    return "a number that no known program writes; look for a newer release of this program, or download the file "
           "again";
}
