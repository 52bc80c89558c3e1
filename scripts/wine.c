/* A command for `ccstat run` under Wine: prints a log, and then acts by its second argument.

       child LOG exit CODE      ends with this code
       child LOG wait           waits for Ctrl-C or Ctrl-Break, prints which one came, and ends with 7
       child LOG ignore         waits for a minute and ignores all events
       child LOG start FILE     starts itself as `beat FILE`, and ignores all events
       child LOG beat FILE      writes to the file ten times per second, and ignores all events
       child LOG probe          ends with 0 if Ctrl-Break can be sent, else with 1
       child LOG characters     prints non-ASCII letters byte by byte, and invalid UTF-8 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static int ignores;
static HANDLE ended;
static volatile DWORD came;

static BOOL WINAPI on_event(DWORD event) {
    if (!ignores) {
        came = event;
        SetEvent(ended);
    }
    return TRUE;
}

static void say(const char *text) {
    printf("{\"type\":\"assistant\",\"message\":{\"id\":\"m_%s\",\"role\":\"assistant\",\"content\":"
           "[{\"type\":\"text\",\"text\":\"%s\"}]}}\n", text, text);
    fflush(stdout);
}

int main(int count, char **words) {
    char block[4096];
    size_t length;
    if (count < 3) return 2;
    FILE *log = fopen(words[1], "rb");
    _setmode(1, _O_BINARY); /* bytes as they are */
    while (log && (length = fread(block, 1, sizeof block, log)) > 0) fwrite(block, 1, length, stdout);
    fflush(stdout);
    if (!strcmp(words[2], "exit")) return atoi(words[3]);
    if (!strcmp(words[2], "characters")) {
        for (const char *byte = "\"\xc3\xa9\xe2\x82\xac\"\n\xff\xfe\n"; *byte; byte++) {
            putchar(*byte);
            fflush(stdout);
            Sleep(20);
        }
        return 0;
    }
    ended = CreateEventA(NULL, TRUE, FALSE, NULL);
    ignores = strcmp(words[2], "wait") != 0;
    SetConsoleCtrlHandler(on_event, TRUE);
    if (!strcmp(words[2], "probe")) return !GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, 0);
    if (!strcmp(words[2], "beat")) {
        for (int beats = 0; beats < 600; beats++) {
            FILE *file = fopen(words[3], "ab");
            if (file) { fputc('.', file); fclose(file); }
            Sleep(100);
        }
        return 0;
    }
    if (!strcmp(words[2], "start")) {
        STARTUPINFOA startup = { .cb = sizeof startup };
        PROCESS_INFORMATION process;
        snprintf(block, sizeof block, "\"%s\" NUL beat \"%s\"", words[0], words[3]);
        CreateProcessA(NULL, block, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process);
    }
    say("waiting");
    if (WaitForSingleObject(ended, 60000) == WAIT_OBJECT_0) {
        say(came == CTRL_C_EVENT ? "ended by Ctrl-C" : "ended by Ctrl-Break");
        return 7;
    }
    return 0;
}
