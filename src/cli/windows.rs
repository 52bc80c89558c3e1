//! System calls of Windows that no safe crate wraps: console events, job objects, and processes that start suspended.

#![expect(unsafe_code, reason = "the system is called through its C interface")]

use std::{
    io,
    os::windows::{
        io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle},
        process::CommandExt,
    },
    process::{Child, Command},
    sync::Mutex,
    time::Duration,
};

use windows_sys::Win32::{
    Foundation::{HANDLE, INVALID_HANDLE_VALUE},
    System::{
        Console::{
            CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
        },
        Diagnostics::ToolHelp::{
            CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
        },
        JobObjects::{AssignProcessToJobObject, CreateJobObjectW, TerminateJobObject},
        Threading::{
            CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, INFINITE, OpenThread, ResumeThread,
            THREAD_SUSPEND_RESUME, WaitForSingleObject,
        },
    },
};

/// What a console tells the programs that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Ctrl-C was typed.
    Interrupt,
    /// Ctrl-Break was typed, or a program sent it to our process group.
    Break,
    /// The window was closed.
    Close,
    /// The user logs off, or the system shuts down.
    Shutdown,
}

impl Event {
    fn of(event: u32) -> Self {
        match event {
            CTRL_C_EVENT => Self::Interrupt,
            CTRL_BREAK_EVENT => Self::Break,
            CTRL_CLOSE_EVENT => Self::Close,
            _ => Self::Shutdown,
        }
    }
}

/// Who wants to know. It returns whether the event is dealt with; if nobody has done so, the program ends by default.
type Listener = Box<dyn FnMut(Event) -> bool + Send>;

/// The system calls a function without any argument of ours, so this has to be global.
static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

/// Calls `tell` for each event of the console from now on, on a thread of the system.
pub(super) fn listen(tell: impl FnMut(Event) -> bool + Send + 'static) -> io::Result<()> {
    let Ok(mut listeners) = LISTENERS.lock() else { return Err(io::Error::other("a listener has failed")) };
    if listeners.is_empty() {
        // SAFETY: `on_event` has the signature that the system wants, and lives as long as the program.
        check(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })?;
    }
    listeners.push(Box::new(tell));
    Ok(())
}

/// The system calls this on a thread that it starts for each event, so it may wait.
extern "system" fn on_event(event: u32) -> i32 {
    let event = Event::of(event);
    let Ok(mut listeners) = LISTENERS.lock() else { return 0 };
    let told = listeners.iter_mut().map(|tell| tell(event)).filter(|told| *told).count();
    drop(listeners);
    if told > 0 && matches!(event, Event::Close | Event::Shutdown) {
        // The system ends the program when this returns, or some seconds later. The last report needs the time.
        std::thread::sleep(Duration::from_secs(60));
    }
    i32::from(told > 0)
}

/// Sends Ctrl-Break to a process group on our console. Fails if we have no console.
pub(super) fn send_break(group: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group) })
}

/// Waits until a process has ended.
pub(super) fn wait(process: BorrowedHandle<'_>) {
    // SAFETY: the handle is open as long as it is borrowed.
    unsafe { WaitForSingleObject(raw(process), INFINITE) };
}

/// A job: a process and everything that it starts.
pub(super) struct Job(OwnedHandle);

impl Job {
    /// Starts a command in a job and in a process group of its own. The command begins to run when it is in the job, so that
    /// nothing it starts is missed.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        // SAFETY: both pointers may be null: no security attributes, and no name.
        let job = owned(unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) })?;
        let mut child = command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP).spawn()?;
        // SAFETY: both handles are open: `job` and `child` own them.
        let assigned =
            check(unsafe { AssignProcessToJobObject(raw(job.as_handle()), raw(child.as_handle())) });
        if let Err(error) = assigned.and_then(|()| resume(child.id())) {
            child.kill()?;
            return Err(error);
        }
        Ok((child, Self(job)))
    }

    /// Ends all processes of the job, with this exit code.
    pub(super) fn terminate(&self, code: u32) {
        // If it fails, the processes have ended already.
        // SAFETY: the handle is open: `self` owns it.
        unsafe { TerminateJobObject(raw(self.0.as_handle()), code) };
    }
}

/// Lets a process run that was started suspended. The standard library does not keep the handle of its thread.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let threads = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..THREADENTRY32::default() };
    // SAFETY: the handle is that of a snapshot, and the entry says its own size.
    let mut found = unsafe { Thread32First(raw(threads.as_handle()), &raw mut entry) };
    while found != 0 {
        if entry.th32OwnerProcessID == process {
            // SAFETY: no pointers are passed.
            let thread = owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open, with the right to resume.
            return match unsafe { ResumeThread(raw(thread.as_handle())) } {
                u32::MAX => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
        }
        // SAFETY: as above.
        found = unsafe { Thread32Next(raw(threads.as_handle()), &raw mut entry) };
    }
    Err(io::Error::other("the command has no thread"))
}

fn raw(handle: BorrowedHandle<'_>) -> HANDLE {
    handle.as_raw_handle()
}

/// A handle that a call has just returned.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is open, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Most calls return zero if they fail.
fn check(done: i32) -> io::Result<()> {
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
