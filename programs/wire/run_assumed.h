/* run_assumed.h - the file PID.assumed of a run's folder: the values that the program read from a
 * virtual card that computes no values. Typical values were assumed.
 *
 * Each line of the program and kind of value has a row of TIDE_RUN_ASSUMED_ROW_BYTES, which newer
 * figures overwrite. A row is the members of tide_snapshot_assumed (snapshot/document/assumed.h) in
 * their order, separated by tabs, then blanks, and the end of the line. Values below -1 are read as
 * -1.
 */
#ifndef TIDE_WIRE_RUN_ASSUMED_H
#define TIDE_WIRE_RUN_ASSUMED_H

enum {
    TIDE_RUN_ASSUMED_ROWS = 1024,     /* at most, of a process */
    TIDE_RUN_ASSUMED_ROW_BYTES = 512, /* with the end of the line */
    TIDE_RUN_ASSUMED_PLACE = 256,     /* bytes of the place, with a 0 */
    TIDE_RUN_ASSUMED_WHAT = 64        /* bytes of the kind of value, with a 0 */
};

#endif
