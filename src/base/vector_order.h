/* For v_compress where there is no instruction for it: the lanes that a mask of four keeps. */
#ifndef SUBMODI_VECTOR_ORDER_H
#define SUBMODI_VECTOR_ORDER_H

/* Row m: the numbers of the bits set in m, in ascending order, then anything. */
static const int32_t submodi_lane_order[16][4] = {
    {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {2, 0, 0, 0}, {0, 2, 0, 0},
    {1, 2, 0, 0}, {0, 1, 2, 0}, {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0},
    {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};

#endif
